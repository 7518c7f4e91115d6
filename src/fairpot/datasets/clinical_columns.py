"""Column names of the simulated clinical data: 229 diagnosis groups by chapter, in the manner of CCS.

The names give the simulation a realistic shape and nothing more. The two CCS categories that would contain
the outcome itself (developmental disorders; disorders usually diagnosed in infancy or childhood) are left
out.
"""

_NAMES_BY_CHAPTER = {
    "infections": (
        "septicemia bacterial_infection mycoses hepatitis viral_infection other_infections "
        "sexually_transmitted_infection immunization_encounter parasitic_infection "
        "herpesvirus_infection varicella scarlet_fever lyme_disease pertussis_exposure"
    ),
    "neoplasms": ("brain_cancer leukemia lymphoma benign_neoplasm_skin benign_neoplasm_other hemangioma"),
    "endocrine": (
        "thyroid_disorder diabetes_type_1 diabetes_type_2 nutritional_deficiency lipid_disorder "
        "fluid_electrolyte_disorder cystic_fibrosis immunity_disorder growth_hormone_disorder "
        "precocious_puberty obesity metabolic_disorder vitamin_d_deficiency failure_to_thrive"
    ),
    "blood": (
        "iron_deficiency_anemia acute_posthemorrhagic_anemia sickle_cell_anemia coagulation_disorder "
        "white_cell_disease thrombocytopenia lymphadenopathy other_hematologic"
    ),
    "mental": (
        "adjustment_disorder anxiety_disorder attention_deficit_disorder conduct_disorder mood_disorder "
        "impulse_control_disorder substance_related_disorder self_harm mental_health_screening "
        "miscellaneous_mental_disorder sleep_disturbance eating_disorder tic_disorder "
        "elimination_disorder"
    ),
    "nervous": (
        "meningitis encephalitis cns_infection_other hereditary_nervous_condition paralysis epilepsy "
        "febrile_convulsions headache_migraine coma_brain_damage movement_disorder neuropathy "
        "cerebral_palsy hydrocephalus gait_abnormality hypotonia syncope"
    ),
    "eye": (
        "retinal_disorder glaucoma blindness_low_vision eye_inflammation refractive_error strabismus "
        "conjunctivitis eyelid_disorder other_eye_disorder"
    ),
    "ear": (
        "otitis_media conditions_of_ear hearing_loss dizziness_vertigo tympanostomy_encounter "
        "eustachian_tube_disorder cerumen_impaction external_ear_infection"
    ),
    "circulatory": (
        "heart_valve_disorder cardiomyopathy hypertension cardiac_dysrhythmia conduction_disorder "
        "heart_failure pulmonary_heart_disease cerebrovascular_disease phlebitis hypotension "
        "heart_murmur nonspecific_chest_pain"
    ),
    "respiratory": (
        "pneumonia influenza tonsillitis acute_bronchitis upper_respiratory_infection asthma "
        "chronic_respiratory_disease aspiration_pneumonitis respiratory_failure lung_disease_external "
        "croup bronchiolitis allergic_rhinitis sinusitis sleep_apnea laryngeal_disorder"
    ),
    "digestive": (
        "intestinal_infection teeth_disorder mouth_disease esophageal_disorder gastritis appendicitis "
        "peritonitis abdominal_hernia regional_enteritis intestinal_obstruction anal_condition "
        "biliary_tract_disease liver_disease pancreatic_disorder gastrointestinal_hemorrhage "
        "gastroenteritis constipation celiac_disease feeding_difficulty gastroesophageal_reflux "
        "food_allergy"
    ),
    "genitourinary": (
        "nephritis acute_renal_failure chronic_kidney_disease urinary_tract_infection kidney_stones "
        "kidney_disorder_other genitourinary_symptoms vesicoureteral_reflux "
        "inflammatory_genital_disease menstrual_disorder hydrocele enuresis phimosis"
    ),
    "skin": (
        "skin_infection contact_dermatitis atopic_dermatitis acne urticaria psoriasis skin_ulcer "
        "diaper_dermatitis impetigo warts alopecia nail_disorder other_skin_disorder"
    ),
    "musculoskeletal": (
        "infective_arthritis juvenile_arthritis joint_disorder_other spondylosis_back_problem "
        "pathological_fracture acquired_foot_deformity acquired_deformity_other lupus "
        "connective_tissue_disease bone_disease_other scoliosis limb_pain torticollis plagiocephaly"
    ),
    "congenital": (
        "cardiac_congenital_anomaly digestive_congenital_anomaly genitourinary_congenital_anomaly "
        "nervous_system_congenital_anomaly cleft_lip_palate chromosomal_anomaly limb_congenital_anomaly "
        "skin_congenital_anomaly other_congenital_anomaly"
    ),
    "perinatal": (
        "short_gestation intrauterine_hypoxia respiratory_distress hemolytic_jaundice birth_trauma "
        "neonatal_feeding_problem neonatal_infection neonatal_hypoglycemia other_perinatal_condition"
    ),
    "injury": (
        "joint_dislocation skull_fracture upper_limb_fracture lower_limb_fracture other_fracture "
        "sprain_strain intracranial_injury crushing_injury open_wound_head open_wound_extremity burns "
        "superficial_injury foreign_body complication_of_device complication_of_procedure "
        "poisoning_medication poisoning_other insect_bite"
    ),
    "symptoms": (
        "fever_unknown_origin nausea_vomiting abdominal_pain malaise_fatigue allergic_reaction rash "
        "cough abnormal_weight rehabilitation_encounter administrative_encounter well_child_encounter "
        "screening_other aftercare_encounter social_determinants residual_codes"
    ),
}

CHAPTERS: dict[str, tuple[str, ...]] = {
    chapter: tuple(f"dx_{name}" for name in names.split()) for chapter, names in _NAMES_BY_CHAPTER.items()
}
DIAGNOSES: tuple[str, ...] = tuple(name for names in CHAPTERS.values() for name in names)

# Plausibility of the table, not medicine: who can carry a code at all.
MALE_ONLY = frozenset({"dx_hydrocele", "dx_phimosis"})
FEMALE_ONLY = frozenset({"dx_menstrual_disorder"})
FROM_AGE_EIGHT = frozenset(
    {
        "dx_acne",
        "dx_eating_disorder",
        "dx_menstrual_disorder",
        "dx_self_harm",
        "dx_sexually_transmitted_infection",
        "dx_substance_related_disorder",
    }
)
